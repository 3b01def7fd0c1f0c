/** Calls of the REST interface, compared with the expected answers. */
import { assertSame, say } from './surprise.ts';

export interface Expected {
  readonly status: number;
  /** `WWW-Authenticate`; `none` if it must be absent. Without this field, it is not checked. */
  readonly challenge?: string;
  /** The expected values of some fields of the body. */
  readonly body: Readonly<Record<string, unknown>>;
}

export const REFUSED: Expected = {
  status: 401,
  challenge: 'Bearer realm="deception platform", error="invalid_token"',
  body: { error: 'invalid_token' },
};

function shorten(text: string): string {
  return text.length > 240 ? `${text.slice(0, 240)}…` : text;
}

type Body = Readonly<Record<string, unknown>>;

/** Picks the fields to compare. */
function pick(body: Body, fields: readonly string[]): Body {
  return Object.fromEntries(fields.map((field) => [field, body[field]]));
}

/** Tokens are cut, because anyone who sees one can use it. `say` masks keys. */
function cut(credential: string): string {
  return credential.includes('.') ? `${credential.slice(0, 12)}…` : credential;
}

/** Sends a request with a credential, and prints request and answer. `whose` says which it is. */
export async function ask(
  url: string,
  key: string,
  expected: Expected,
  whose?: string,
): Promise<void> {
  const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
  const text = await response.text();
  const path = url.slice(url.indexOf('/v1'));
  say(whose === undefined ? `   GET ${path}` : `   GET ${path} with the ${whose}`);
  say(`   Authorization: Bearer ${cut(key)}`);
  say(`   → ${response.status} ${shorten(text)}`);
  assertSame(response.status, expected.status);
  if (expected.challenge !== undefined)
    assertSame(response.headers.get('WWW-Authenticate') ?? 'none', expected.challenge);
  assertSame(pick(JSON.parse(text) as Body, Object.keys(expected.body)), expected.body);
  assertSame(response.headers.get('Cache-Control'), 'no-store');
}

/** Returns the status with which an instance answers a key. */
export async function statusOf(url: string, key: string): Promise<number> {
  const response = await fetch(`${url}/me`, { headers: { Authorization: `Bearer ${key}` } });
  return response.status;
}
