/** Finds as people may see them: without the key, and with what is known of it. */
import { redactKeys } from '../../../core/keys.js';
import { escapeInvisible } from '../output.js';
import type { Known } from './known.js';
import type { Found, Tally } from './scanner.js';

/** A find as it may be shown. */
export interface ShownFind {
  readonly commit: string | null;
  /** Null for the message of a commit or a tag. */
  readonly path: string | null;
  readonly line: number;
  readonly column: number;
  readonly prefix: string;
  readonly hint: string;
}

/** Takes the key away, and masks those that stand in a path. */
export function shownFind(found: Found, prefixes: readonly string[]): ShownFind {
  const { line, column, prefix, hint } = found.find;
  const { object, path } = found;
  const ownId = object === null || object.type === 'blob' ? null : object.id;
  return {
    commit: found.commit ?? ownId,
    path: path === null ? null : withoutKeys(path, prefixes),
    line,
    column,
    prefix,
    hint,
  };
}

/** A path may have a key in it, as anything may. */
export function withoutKeys(text: string, prefixes: readonly string[]): string {
  return prefixes.reduce((masked, prefix) => redactKeys(masked, { prefix }), text);
}

/** How a text is named before the line, as `git grep` does it. */
export function shownPlace({ commit, path, line, column }: ShownFind): string {
  const parts = commit === null ? [] : [commit.slice(0, 12)];
  return [...parts, path ?? '(message)', line, column].join(':');
}

/** What is known of a key, in a line. */
export function shownKnown(known: Known): string {
  if (known === null) return 'unknown to the keyring';
  const name = 'name' in known ? ` “${escapeInvisible(known.name)}”` : '';
  return `${known.state}, key id ${known.keyId}, entity ${known.entityUuid}${name}`;
}

/** Where finds go. */
export interface Report {
  /** @param known What the keyring says; undefined where none was asked. */
  found(shown: ShownFind, known: Known | undefined): Promise<void>;
  end(tally: Tally): Promise<void>;
}
