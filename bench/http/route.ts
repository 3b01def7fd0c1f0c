/** The one route that every server has, and what its servers are called. */
import type { RequestListener } from 'node:http';

/** What a server is asked with. */
export interface Credentials {
  /** Each is answered 200. */
  readonly tokens: readonly string[];
  /**
   * As genuine as those, but without the scope: answered 403. Only where the server knows scopes.
   */
  readonly underScoped?: string;
  /** Whether no credential, or another, is answered 401. */
  readonly guarded: boolean;
}

export interface Served extends Credentials {
  readonly listener: RequestListener;
}

/** Makes what a server needs, and its listener. */
export type Serve = () => Served | Promise<Served>;

export const PATH = '/threats';

export interface Threats {
  readonly entityUuid: string;
  readonly threats: readonly string[];
}

export function answerTo(entityUuid: string): Threats {
  return { entityUuid, threats: [] };
}

/** The yardstick's name. */
export const PLAIN = 'plain check';
/** Ours. */
export const OURS = 'keyscope';
export const NOTHING = 'middleware that does nothing';
