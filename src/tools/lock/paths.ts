/**
 * Paths of routes as routers read them, segment by segment, and whether what is declared for one
 * covers every path of another. Where that cannot be told, it does not: the route then shows up as
 * unguarded.
 */

/** The part of a path between two slashes. */
export interface Segment {
  /**
   * `literal` matches its text; `param` one or more characters, none of them a slash; `rest` one
   * or more; `tail` any number; `all` any number, and the slash before it need not be there;
   * `other` is known by its text alone.
   */
  readonly kind: 'literal' | 'param' | 'rest' | 'tail' | 'all' | 'other';
  readonly text: string;
  /** Whether it tells capitals from small letters. */
  readonly isSensitive: boolean;
}

/** How a router reads its paths. */
export interface Reading {
  readonly isSensitive: boolean;
  /** Whether a slash at the end counts. */
  readonly isStrict: boolean;
}

type Path = string | RegExp;
type Rule = readonly [kind: Segment['kind'], pattern: RegExp];

/** `path-to-regexp` 8, of Express 5 and of `@koa/router`. */
const EXPRESS: readonly Rule[] = [
  ['literal', /^[\w.~%@&=$',;-]*$/],
  ['param', /^:[\w$]+$/],
  ['rest', /^\*[\w$]+$/],
  ['tail', /^\{\*[\w$]+\}$/],
];

const HONO: readonly Rule[] = [
  ['literal', /^[^:*{}?]*$/],
  ['param', /^:[\w-]+$/],
  ['all', /^\*$/],
];

/** What a path can only end with. */
const OPEN: readonly string[] = ['rest', 'tail', 'all'];

function segmentsOf(path: Path, rules: readonly Rule[], isSensitive: boolean): readonly Segment[] {
  const text = String(path);
  if (path instanceof RegExp || !text.startsWith('/'))
    return [{ kind: 'other', text, isSensitive }];
  const parts = text.slice(1).split('/');
  return parts.map((part, at): Segment => {
    const kind = rules.find(([, pattern]) => pattern.test(part))?.[0] ?? 'other';
    const isInside = at < parts.length - 1 && OPEN.includes(kind);
    return { kind: isInside ? 'other' : kind, text: part, isSensitive };
  });
}

/** Without the slashes at its end. */
export function withoutEnd(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

export function expressSegments(
  path: Path,
  { isSensitive, isStrict }: Reading,
): readonly Segment[] {
  if (path === '/' || path === '') return [];
  const trimmed = typeof path === 'string' && !isStrict ? withoutEnd(path) : path;
  return segmentsOf(trimmed, EXPRESS, isSensitive);
}

export function honoSegments(path: string): readonly Segment[] {
  return segmentsOf(path, HONO, true);
}

/** A guard that requests meet before a route, and for which of them it is declared. */
export interface Front {
  readonly operation: string;
  /** `ALL`, or the one method. */
  readonly method: string;
  readonly segments: readonly Segment[];
  /** Whether it is for whatever begins with the path, not for the path alone. */
  readonly isPrefix: boolean;
}

/** A route as it is compared with guards. */
export interface Target {
  readonly method: string;
  readonly segments: readonly Segment[];
}

/** Whether every request that meets the route meets the guard. */
export function covers(front: Front, target: Target): boolean {
  if (front.method !== 'ALL' && front.method !== target.method) return false;
  for (const [at, segment] of front.segments.entries()) {
    const other = target.segments[at];
    if (segment.kind === 'all') return true;
    if (segment.kind === 'tail') return at === 0 || other !== undefined;
    if (other === undefined || !includes(segment, other)) return false;
    if (segment.kind === 'rest') return true;
  }
  return front.isPrefix || front.segments.length === target.segments.length;
}

function includes(segment: Segment, other: Segment): boolean {
  if (segment.kind === 'rest' && other.kind === 'rest') return true;
  const isOne = other.kind === 'param' || (other.kind === 'literal' && other.text !== '');
  if (segment.kind === 'param' || segment.kind === 'rest') return isOne;
  if (segment.kind !== other.kind) return false;
  if (!segment.isSensitive && segment.kind === 'literal') {
    return folded(segment.text) === folded(other.text);
  }
  // `/V1` gets to a route of `/v1`, and past a guard that tells them apart.
  return segment.text === other.text && (!segment.isSensitive || other.isSensitive);
}

/** As routers fold it: a literal has ASCII alone. */
function folded(text: string): string {
  return text.toLowerCase();
}

/** Whether it covers whatever follows, so that it need not know how the rest is routed. */
export function isOpen({ isPrefix, segments }: Front): boolean {
  return isPrefix || OPEN.includes(segments.at(-1)?.kind ?? '');
}
