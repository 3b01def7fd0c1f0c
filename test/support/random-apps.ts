/**
 * Random apps of a framework, and a check of their listed routes by requests without a key: each
 * handler has a row, and none that answers a stranger has a row with a guard.
 */
import { type GuardedRoute, routesOf } from 'keyscope/lock';

/** Draws pseudo-random numbers that depend only on the seed (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** Returns a whole number below `count`. */
  below(count: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * count);
  }

  chance(share: number): boolean {
    return this.below(1000) < share * 1000;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  /** Makes a random number of items, from `least` to `most`. */
  some<T>(least: number, most: number, make: () => T): readonly T[] {
    return Array.from({ length: least + this.below(most - least + 1) }, make);
  }
}

/** The declaration of a handler. */
export interface Declaration {
  /** Every method for which its route has rows; `ALL` for the others. */
  readonly methods: ReadonlySet<string>;
  /** The paths of its rows. */
  paths(): readonly string[];
  /** Whether the framework adds a HEAD to its GET. That has no row if the guards are the same. */
  readonly hasOwnHead?: boolean;
}

/** The outcome of a request without a key: the number of the handler that answered, or null. */
export interface Met {
  readonly handler: number | null;
  readonly status: number;
  /** The path of the route, if the framework gives it. */
  readonly path?: string | undefined;
}

export interface RandomApp {
  /** The argument for `routesOf`. */
  readonly app: unknown;
  readonly handlers: ReadonlyMap<number, Declaration>;
  /** Whether a part of it is unreadable, so that `routesOf` must reject it. */
  readonly isHidden: boolean;
  send(method: string, url: string): Promise<Met>;
}

/** The results of many apps. */
export interface Tally {
  apps: number;
  refused: number;
  routes: number;
  guarded: number;
  unguarded: number;
  behind: number;
  handlers: number;
  requests: number;
  answered: number;
  denied: number;
  readonly falseAllClears: string[];
  readonly unlisted: string[];
  /** Apps rejected without a reason, or accepted although a part is hidden. */
  readonly misread: string[];
}

export function emptyTally(): Tally {
  const counts = { apps: 0, refused: 0, routes: 0, guarded: 0, unguarded: 0, behind: 0 };
  const requests = { handlers: 0, requests: 0, answered: 0, denied: 0 };
  return { ...counts, ...requests, falseAllClears: [], unlisted: [], misread: [] };
}

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT'];

/** Lists the routes of an app and sends requests to all of them. */
export async function judge(random: RandomApp, tally: Tally): Promise<void> {
  tally.apps += 1;
  let routes: readonly GuardedRoute[];
  try {
    routes = routesOf(random.app);
  } catch (error) {
    tally.refused += 1;
    if (!random.isHidden) tally.misread.push(`rejected: ${String(error)}`);
    return;
  }
  if (random.isHidden) tally.misread.push('accepted, although a part is hidden');
  tally.routes += routes.length;
  tally.guarded += routes.filter(({ operations }) => operations.length > 0).length;
  tally.unguarded += routes.filter(({ operations }) => operations.length === 0).length;
  tally.behind += routes.filter(({ behind }) => behind !== undefined).length;
  tally.handlers += random.handlers.size;
  const paths = [...random.handlers.values()].flatMap((each) => each.paths());
  const urls = [...new Set([...routes.map(({ path }) => path), ...paths].flatMap(urlsOf))];
  for (const url of urls) {
    await Promise.all(METHODS.map((method) => ask(method, url, random, routes, tally)));
  }
}

async function ask(
  method: string,
  url: string,
  { send, handlers }: RandomApp,
  routes: readonly GuardedRoute[],
  tally: Tally,
): Promise<void> {
  const { handler, status, path } = await send(method, url);
  tally.requests += 1;
  if (status === 401) tally.denied += 1;
  if (handler === null) return;
  tally.answered += 1;
  const declared = handlers.get(handler);
  const row = rowMethod(method, declared?.methods ?? new Set());
  for (const each of path === undefined ? (declared?.paths() ?? []) : [path]) {
    const isHead = method === 'HEAD' && declared?.hasOwnHead === true;
    const names = [...(isHead ? [`HEAD ${each}`, `GET ${each}`] : []), `${row} ${each}`];
    const found = names.flatMap((name) => routes.find((route) => nameOf(route) === name) ?? [])[0];
    const words = `${method} ${url} reached handler ${handler} of ${row} ${each}`;
    if (found === undefined) tally.unlisted.push(words);
    else if (found.operations.length > 0) tally.falseAllClears.push(words);
  }
}

const nameOf = ({ method, path }: GuardedRoute): string => `${method} ${path}`;

function rowMethod(method: string, methods: ReadonlySet<string>): string {
  if (methods.has(method)) return method;
  return method === 'HEAD' && methods.has('GET') ? 'GET' : 'ALL';
}

/** Returns URLs that may match a printed path of any framework. */
export function urlsOf(path: string): readonly string[] {
  const plain = path.replaceAll(/\/\^\\\/|\\|[$^]|\/i?$/g, (part) => (part === '/^\\/' ? '/' : ''));
  const filled = ['a', 'a/b'].map((text) =>
    plain
      .replaceAll(/\{\/?\*\w+\}|\*\w*/g, text)
      .replaceAll(/:\w+(?:\{[^}]*\}|\([^)]*\))?\??/g, text === 'a' ? 'a' : 'x')
      .replaceAll(/[{}?]/g, ''),
  );
  const empty = plain.replaceAll(/\/?(?:\{[^}]*\}|\*\w*|:\w+\?)/g, '');
  const bases = [...filled, empty].map((url) => (url.startsWith('/') ? url : `/${url}`));
  return bases.flatMap((url) => [url, `${url}/`, url.replace(/\/$/, '') || '/', url.toUpperCase()]);
}
