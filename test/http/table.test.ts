/**
 * HTTP requests as bytes: every case of vectors/http.json on all three servers, against the table
 * and each other.
 */
import { readFileSync } from 'node:fs';
import { isStoreError } from 'keyscope';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Fleet, Response, Running } from './harness.ts';
import { exchange, fill, startAll } from './harness.ts';

interface Case {
  readonly id: number;
  readonly comment: string;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly string[];
  readonly body?: string;
  readonly eol?: string;
  readonly host?: string | null;
  readonly pad?: number;
  readonly chunked?: boolean;
  readonly allow?: string;
  readonly expect: string;
}

interface Expected {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

const { answers, cases } = JSON.parse(
  readFileSync(new URL('../vectors/http.json', import.meta.url), 'utf8'),
) as { answers: Readonly<Record<string, Expected>>; cases: readonly Case[] };

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startAll();
});
afterAll(async () => {
  await fleet.stop();
  // Whatever the order of the cases: none was an error of ours but the outage.
  for (const { errors } of fleet.all)
    expect(errors.filter((error) => !isStoreError(error))).toEqual([]);
});

/** The characters of one request, a byte each. */
function bytes({ method, target, headers, body, ...how }: Case): string {
  const { eol = '\r\n', host = 'localhost', pad = 0, chunked = false } = how;
  const content = body?.padEnd(pad);
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...(host === null ? [] : [`Host: ${host}`]),
    'Connection: close',
    ...headers,
    ...(content === undefined || chunked ? [] : [`Content-Length: ${content.length}`]),
  ];
  const sent =
    chunked && content !== undefined
      ? `${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n`
      : content;
  return `${lines.join(eol)}${eol}${eol}${sent ?? ''}`;
}

const send = ({ port, values }: Running, vector: Case): Promise<Response> =>
  exchange(port, bytes({ ...vector, ...filled(vector, values) }));

const filled = ({ target, headers, body }: Case, values: Running['values']) => ({
  target: fill(target, values),
  headers: headers.map((line) => fill(line, values)),
  ...(body !== undefined && { body: fill(body, values) }),
});

// What a problem document says to people is not API; that it is the same on all three is checked
// below.
const ANY = '"detail":"*"';
const DETAIL = /"detail":"(?:[^"\\]|\\.)+"/;

const COMPARED = [
  'www-authenticate',
  'content-type',
  'cache-control',
  'allow',
  'retry-after',
  'x-powered-by',
  'etag',
];
const compared = ({ headers }: Response) =>
  Object.fromEntries(
    COMPARED.filter((name) => name in headers).map((name) => [name, headers[name]]),
  );

/** Key ids are each server's own: by their names, they compare. */
const named = (body: string, values: Running['values']) =>
  Object.entries(values).reduce(
    (text, [name, id]) => (name.endsWith('.id') ? text.replaceAll(id, name) : text),
    body,
  );

test('the table has every answer, and every answer a case', () => {
  expect(cases.length).toBeGreaterThanOrEqual(80);
  expect([...new Set(cases.map((vector) => vector.expect))].sort()).toEqual(
    Object.keys(answers).sort(),
  );
  expect(cases.map(({ id }) => id)).toEqual(cases.map((_, i) => i + 1));
});

describe.each(cases)('$id $comment: $method $expect', (vector) => {
  test('on Express, Fastify and Hono', async () => {
    const wanted = answers[vector.expect];
    if (wanted === undefined) throw new Error(`no answer ${vector.expect}`);
    const responses = await Promise.all(fleet.all.map((running) => send(running, vector)));
    for (const [i, response] of responses.entries()) {
      const { framework, values } = fleet.all[i] as Running;
      const allow = vector.allow === undefined ? {} : { allow: vector.allow };
      const body =
        vector.method === 'HEAD'
          ? ''
          : wanted.body === null
            ? response.body
            : fill(wanted.body, values);
      const got = wanted.body?.includes(ANY) ? response.body.replace(DETAIL, ANY) : response.body;
      expect({
        framework,
        status: response.status,
        headers: compared(response),
        body: got,
      }).toEqual({
        framework,
        status: wanted.status,
        headers: { ...wanted.headers, ...allow },
        body,
      });
    }
    const bodies = responses.map(({ body }, i) => named(body, (fleet.all[i] as Running).values));
    expect(new Set(bodies).size).toBe(1);
  });
});

test('a refused credential gives the same bytes whatever is wrong with it', async () => {
  const wrong = ['unknown', 'revoked', 'expired', 'retired', 'tampered', 'checksum', 'digest'];
  for (const running of fleet.all) {
    const answers = wrong.map(async (name) => {
      const authorization = `Authorization: Bearer ${running.values[name]}`;
      return exchange(
        running.port,
        `GET /v1/me HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${authorization}\r\n\r\n`,
      );
    });
    // All headers but Date, order included.
    const seen = new Set((await Promise.all(answers)).map((response) => JSON.stringify(response)));
    expect(seen.size).toBe(1);
    expect([...seen][0]).toContain('invalid_token');
  }
});
