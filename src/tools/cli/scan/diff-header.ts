/** The lines of a diff that are no text of a file, one by one. Texts are latin1: one a byte. */

/** What `@@ -1,2 +3,4 @@` announces; with three or more `@`, a merge has several old files. */
export interface AnnouncedHunk {
  readonly old: readonly number[];
  readonly left: number;
  readonly next: number;
}

const RANGE = /([-+])(\d+)(?:,(\d+))?/g;

/** Reads the head of a hunk; null for any other line. */
export function readHunk(text: string): AnnouncedHunk | null {
  const [, marks = '', ranges = ''] =
    /^(@{2,})((?: -\d+(?:,\d+)?)+ \+\d+(?:,\d+)? )\1/.exec(text) ?? [];
  const read = Array.from(ranges.matchAll(RANGE), ([, sign, start, count = '1']) => ({
    sign,
    start: Number(start),
    count: Number(count),
  }));
  const added = read.at(-1);
  if (added === undefined || read.length !== marks.length) return null;
  return { old: read.slice(0, -1).map(({ count }) => count), left: added.count, next: added.start };
}

/** What a line between `diff --git` and the first hunk says. */
export type HeaderLine =
  | { readonly kind: 'old' | 'new' | 'renamed' | 'binary'; readonly name: string }
  | { readonly kind: 'deleted' | 'other' };

const NAME = /^(---|\+\+\+|rename to|copy to) (.*)$/s;
const BINARY = /^(?:GIT binary patch|Binary files .*differ)$/s;
const DELETED = /^deleted file mode /;
const OTHER =
  /^(?:(?:old|new|new file) mode|mode|copy from|rename from|(?:dis)?similarity index|index) /;

/** Reads such a line; null for one that ends the header. */
export function readHeaderLine(text: string): HeaderLine | null {
  const [, word, name = ''] = NAME.exec(text) ?? [];
  if (word === '---') return { kind: 'old', name: withoutDate(name) };
  if (word === '+++') return { kind: 'new', name: withoutDate(name) };
  if (word !== undefined) return { kind: 'renamed', name: unquoted(name) };
  if (BINARY.test(text)) return { kind: 'binary', name: secondName(text) };
  if (DELETED.test(text)) return { kind: 'deleted' };
  return OTHER.test(text) ? { kind: 'other' } : null;
}

/** `b/x` of `Binary files a/x and b/x differ`. Merges and binary patches name none. */
function secondName(text: string): string {
  const at = text.lastIndexOf(' and ');
  return at === -1 ? '' : unquoted(text.slice(at + ' and '.length, -' differ'.length));
}

/** `diff -u` writes a tab and a time behind a name, git a tab if the name has a space. */
function withoutDate(name: string): string {
  return unquoted(name.replace(/\t.*$/s, ''));
}

/**
 * The path in `a/x b/x`, whatever settings of git put in front; null if the two do not end alike,
 * as after a renaming.
 */
export function pathOfBoth(names: string): string | null {
  const [, first = '', second = ''] = /^("(?:[^"\\]|\\.)*") (".*")$/s.exec(names) ?? [];
  if (first !== '') return endOfBoth(unquoted(first), unquoted(second));
  const middle = (names.length - 1) / 2;
  if (names[middle] !== ' ') return null;
  return endOfBoth(names.slice(0, middle), names.slice(middle + 1));
}

/** What two names have in common from the right, in whole folders; all of it if they are equal. */
export function endOfBoth(first: string, second: string): string | null {
  if (first === second) return second;
  for (let at = second.indexOf('/'); at !== -1; at = second.indexOf('/', at + 1)) {
    if (first.endsWith(second.slice(at))) return second.slice(at + 1);
  }
  return null;
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
};

/** A name that git or diff has put into quotes, as in C. */
export function unquoted(name: string): string {
  const [, inner] = /^"(.*)"$/s.exec(name) ?? [];
  if (inner === undefined) return name;
  return inner.replace(/\\([0-3][0-7]{2}|.)/gs, (_, code: string) => {
    if (code.length > 1) return String.fromCharCode(Number.parseInt(code, 8));
    return ESCAPES[code] ?? code;
  });
}
