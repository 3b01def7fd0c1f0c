/**
 * HTTP requests as bytes: every case of vectors/http.json on all three servers, compared with the
 * table and with each other.
 */
import { readFileSync } from 'node:fs';
import { isStoreError } from 'keyscope';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Fleet, Response, Running } from './http-harness.ts';
import { exchange, fill, startAll } from './http-harness.ts';

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
  // Whatever the order of the cases, only the outage was an error of the service.
  for (const { errors } of fleet.all) {
    expect(errors.filter((error) => !isStoreError(error))).toEqual([]);
  }
});

/** Returns a case with the values of one platform in place of their names. */
function filled(vector: Case, values: Running['values']): Case {
  const { target, headers, body } = vector;
  return {
    ...vector,
    target: fill(target, values),
    headers: headers.map((line) => fill(line, values)),
    ...(body !== undefined && { body: fill(body, values) }),
  };
}

/** The text of a request, one byte per character. */
function bytesOf({ method, target, headers, body, ...how }: Case): string {
  const { eol = '\r\n', host = 'localhost', pad = 0, chunked = false } = how;
  const content = body?.padEnd(pad);
  const lines = [`${method} ${target} HTTP/1.1`];
  if (host !== null) lines.push(`Host: ${host}`);
  lines.push('Connection: close', ...headers);
  if (content !== undefined && !chunked) lines.push(`Content-Length: ${content.length}`);
  const head = `${lines.join(eol)}${eol}${eol}`;
  if (content === undefined) return head;
  if (!chunked) return head + content;
  return `${head}${content.length.toString(16)}\r\n${content}\r\n0\r\n\r\n`;
}

function send({ port, values }: Running, vector: Case): Promise<Response> {
  return exchange(port, bytesOf(filled(vector, values)));
}

// The text of a problem document is not API. A test below checks that it is the same on all three.
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

function comparedHeaders({ headers }: Response): Response['headers'] {
  const entries = Object.entries(headers).filter(([name]) => COMPARED.includes(name));
  return Object.fromEntries(entries);
}

/** The expected body of a case. Returns `got` if any body is allowed. */
function bodyOf(vector: Case, wanted: Expected, values: Running['values'], got: string): string {
  if (vector.method === 'HEAD') return '';
  return wanted.body === null ? got : fill(wanted.body, values);
}

/** Replaces key ids, which differ between servers, with their names. */
function withNamedIds(body: string, values: Running['values']): string {
  let text = body;
  for (const [name, id] of Object.entries(values)) {
    if (name.endsWith('.id')) text = text.replaceAll(id, name);
  }
  return text;
}

test('the table has every answer, and each answer has a case', () => {
  expect(cases.length).toBeGreaterThanOrEqual(80);
  const expected = [...new Set(cases.map((vector) => vector.expect))].sort();
  expect(expected).toEqual(Object.keys(answers).sort());
  expect(cases.map(({ id }) => id)).toEqual(cases.map((_, index) => index + 1));
});

describe.each(cases)('$id $comment: $method $expect', (vector) => {
  test('gets the answer of the table from Express, Fastify and Hono, byte for byte', async () => {
    const wanted = answers[vector.expect];
    if (wanted === undefined) throw new Error(`no answer ${vector.expect}`);
    const allow = vector.allow === undefined ? {} : { allow: vector.allow };
    const headers = { ...wanted.headers, ...allow };
    const asked = fleet.all.map(async (running) => {
      const response = await send(running, vector);
      const { framework, values } = running;
      const { status, body } = response;
      const shown = wanted.body?.includes(ANY) ? body.replace(DETAIL, ANY) : body;
      const got = { framework, status, headers: comparedHeaders(response), body: shown };
      const expected = bodyOf(vector, wanted, values, body);
      expect(got).toEqual({ framework, status: wanted.status, headers, body: expected });
      return withNamedIds(body, values);
    });
    expect(new Set(await Promise.all(asked)).size).toBe(1);
  });
});

test('a refused credential gets the same bytes, whatever is wrong with it', async () => {
  const wrong = ['unknown', 'revoked', 'expired', 'retired', 'tampered', 'checksum', 'digest'];
  for (const { port, values } of fleet.all) {
    const asked = wrong.map((name) => {
      const lines = [
        'GET /v1/me HTTP/1.1',
        'Host: a',
        'Connection: close',
        `Authorization: Bearer ${values[name]}`,
      ];
      return exchange(port, `${lines.join('\r\n')}\r\n\r\n`);
    });
    // All headers except Date, in order.
    const responses = (await Promise.all(asked)).map((response) => JSON.stringify(response));
    expect(new Set(responses).size).toBe(1);
    expect(responses[0]).toContain('invalid_token');
  }
});
