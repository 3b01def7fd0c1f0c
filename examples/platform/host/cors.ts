/**
 * Which other sites may call the service from a browser (Fetch standard, "CORS protocol"). None,
 * unless they are named. Keys are sent in a header that scripts set themselves, and never by the
 * browser of its own accord, so no site is let in with credentials. The console is for no other
 * site.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer } from '../service/problem.ts';

const PATHS = /^\/(?:v1|mcp|\.well-known)(?=[/?]|$)/;

/** For how long a browser remembers an answer, in seconds: the least of what they all keep. */
const MAX_AGE = '600';

const PREFLIGHT: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Methods': 'DELETE, GET, HEAD, PATCH, POST',
  // `*` would not stand for Authorization.
  'Access-Control-Allow-Headers':
    'Authorization, Content-Type, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id',
  'Access-Control-Max-Age': MAX_AGE,
  'Cache-Control': 'no-store',
};

/** What a script may read besides the body: why it was refused, and when to come again. */
const EXPOSED = 'Allow, Retry-After, WWW-Authenticate';

const INSTEAD = 'pass an origin such as https://app.example.com, without a path';

function readOrigin(text: string): string {
  // As a URL, `https://*.example.com` is one.
  const isExact = /^https?:\/\/[^*]+$/.test(text);
  const isOrigin = isExact && URL.canParse(text) && new URL(text).origin === text;
  if (!isOrigin) throw new TypeError(`--cors-origin: ${INSTEAD}`);
  return text;
}

/** @throws TypeError on anything that is not spelt as browsers spell an origin; `*` is none. */
export function readOrigins(given: readonly string[] = []): readonly string[] {
  return given.map(readOrigin);
}

/**
 * Sets the headers for other sites on an answer that is yet to be made. Returns the answer itself
 * if the request is a preflight of a site that may call; all others are answered as they would be
 * without an origin, and the browser then keeps the answer from the script.
 */
export type Cors = (req: IncomingMessage, res: ServerResponse) => Answer | null;

export function createCors(origins: readonly string[]): Cors {
  const allowed = new Set(readOrigins(origins));
  return ({ url = '', method, headers }, res) => {
    if (allowed.size === 0 || !PATHS.test(url)) return null;
    // Also without an origin: a cache must not hand the answer to a site that sends one.
    res.setHeader('Vary', 'Origin');
    const { origin = '' } = headers;
    if (!allowed.has(origin)) return null;
    res.setHeader('Access-Control-Allow-Origin', origin);
    res.setHeader('Access-Control-Expose-Headers', EXPOSED);
    const isPreflight = method === 'OPTIONS' && 'access-control-request-method' in headers;
    return isPreflight ? { status: 204, headers: PREFLIGHT, body: '' } : null;
  };
}
