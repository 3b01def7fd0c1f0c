/** GitHub's protocol: its documented examples, and signed and unsigned reports. */
import { createHash } from 'node:crypto';
import { generateKey } from 'keyscope';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issue } from '../support/keyring.ts';
import {
  answerOf,
  createSigner,
  fromGitHub,
  type Listing,
  openListing,
  post,
  SIGNER,
  setUpLeaks,
  VECTORS,
} from '../support/leak-reports.ts';

const FORMER = createSigner('former');

let listing: Listing;
beforeAll(async () => {
  const former = { ...FORMER.listed, is_current: false };
  listing = await openListing([...VECTORS.publicKeys, SIGNER.listed, former]);
});
afterAll(() => listing.close());

const open = () => setUpLeaks({ github: listing.source });
const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');

describe('the GitHub route', () => {
  it.each(VECTORS.signed)('accepts exactly the documented bytes: $comment', async (vector) => {
    const { leaks, calls } = open();
    const headers = {
      'github-public-key-identifier': vector.identifier,
      'github-public-key-signature': vector.signature,
    };
    const { token, type } = (JSON.parse(vector.body) as [{ token: string; type: string }])[0];
    const answer = await answerOf(leaks, post('github', vector.body, headers));
    const label = { token_hash: hashOf(token), token_type: type, label: 'false_positive' };
    expect(answer).toEqual({ status: 200, body: [label], noStore: true });
    const again = JSON.stringify(JSON.parse(vector.body), null, 1);
    expect(await answerOf(leaks, post('github', again, headers))).toMatchObject({ status: 403 });
    expect(calls).toEqual([]);
  });
});

describe('the GitHub route, on a signed report', () => {
  it('ends the keys in it and labels each token in order by its hash', async () => {
    const { leaks, keyring, found, events } = open();
    const { key, info } = await issue(keyring);
    const stranger = generateKey({ prefix: 'acme' });
    const url = 'https://github.com/octocat/hello/blob/main/.env';
    const tokens = ['no key', key, stranger, key];
    const report = fromGitHub(tokens.map((token) => ({ token, url, source: 'content' })));
    const { status, body } = await answerOf(leaks, report);
    expect(status).toBe(200);
    expect(body).toEqual(
      tokens.map((token) => ({
        token_hash: hashOf(token),
        token_type: 'acme_key',
        label: token === key ? 'true_positive' : 'false_positive',
      })),
    );
    const { keyId, entityId } = info;
    const leak = { source: 'github', where: url, keyId, entityId, prefix: 'acme' };
    expect(found).toEqual([{ ...leak, state: 'live', ended: [keyId] }]);
    expect(await keyring.get(keyId, { entityId })).toMatchObject({
      state: 'revoked',
      endedBy: 'GitHub secret scanning',
      endReason: `found at ${url}`,
    });
    expect(JSON.stringify([found, events, body])).not.toContain(key.slice(5));
  });

  // Regression: the answer was a 403, and GitHub does not retry a rejected report.
  it('accepts a signature by a listed key that is not current', async () => {
    const { leaks, keyring, found } = open();
    const { key, info } = await issue(keyring);
    const answer = await answerOf(leaks, fromGitHub([{ token: key }], FORMER));
    expect(answer).toMatchObject({ status: 200, body: [{ label: 'true_positive' }] });
    expect(found).toMatchObject([{ keyId: info.keyId, ended: [info.keyId] }]);
  });

  it('answers a repeated report the same way and changes nothing', async () => {
    const { leaks, keyring, store, found, calls } = open();
    const { key, info } = await issue(keyring);
    const report = () => fromGitHub([{ token: key }]);
    const first = await answerOf(leaks, report());
    const row = await store.findById(info.keyId);
    calls.length = 0;
    expect(await answerOf(leaks, report())).toEqual(first);
    expect(calls).not.toContain('mark');
    expect(await store.findById(info.keyId)).toEqual(row);
    expect(found).toMatchObject([{ state: 'live', ended: [info.keyId] }]);
  });

  it('looks up each token once, and only tokens with the form of a key', async () => {
    const { leaks, calls } = open();
    const stranger = generateKey({ prefix: 'acme' });
    const wrong = `${stranger.slice(0, -1)}${stranger.endsWith('0') ? '1' : '0'}`;
    const tokens = [stranger, stranger, wrong, generateKey({ prefix: 'other' }), '', 'x'.repeat(9)];
    await answerOf(leaks, fromGitHub(tokens.map((token) => ({ token }))));
    expect(calls).toEqual(['findByDigest']);
  });

  it('accepts a thousand finds', async () => {
    const { leaks, keyring } = open();
    const { key } = await issue(keyring);
    const tokens = Array.from({ length: 1_000 }, () => generateKey({ prefix: 'acme' }));
    const url = `https://github.com/octocat/${'x'.repeat(200)}`;
    const report = [...tokens, key].map((token) => ({ token, url }));
    const { body } = await answerOf(leaks, fromGitHub(report));
    const labels = (body as readonly { label: string }[]).map(({ label }) => label);
    expect(labels.filter((label) => label === 'true_positive')).toHaveLength(1);
    expect(labels.at(-1)).toBe('true_positive');
  });

  it.each([
    '{}',
    'null',
    '[',
    '',
    '[{ "token": 4, "type": "x" }]',
    '[{ "token": "x" }]',
    '[null]',
    '[["x", "y"]]',
    '"x"',
  ])('rejects a malformed report as a whole: %s', async (body) => {
    const { leaks, calls } = open();
    expect(await answerOf(leaks, fromGitHub(body))).toMatchObject({ status: 400, noStore: true });
    expect(calls).toEqual([]);
  });

  it('accepts unknown fields and an empty url', async () => {
    const { leaks, keyring, found } = open();
    const { key } = await issue(keyring);
    const body = JSON.stringify([{ token: key, type: 'x', url: '', source: 4, more: {} }]);
    expect(await answerOf(leaks, fromGitHub(body))).toMatchObject({ status: 200 });
    expect(found).toMatchObject([{ where: null }]);
  });
});

describe('the GitHub route, on an unsigned report', () => {
  const KEY = generateKey({ prefix: 'acme' });
  const BODY = JSON.stringify([{ token: KEY, type: 'x' }]);

  it('makes no look-up for a thousand forged reports', async () => {
    const { leaks, calls } = open();
    const forger = createSigner(SIGNER.listed.key_identifier);
    for (let round = 0; round < 1_000; round += 1) {
      const answer = await answerOf(
        leaks,
        fromGitHub([{ token: generateKey({ prefix: 'acme' }) }], forger),
      );
      expect(answer.status).toBe(403);
    }
    expect(calls).toEqual([]);
  });

  it.each<[string, Record<string, string>]>([
    ['no identifier', { 'github-public-key-identifier': '' }],
    ['an unknown identifier', { 'github-public-key-identifier': 'unknown' }],
    ['an identifier of the prototype', { 'github-public-key-identifier': '__proto__' }],
    ['an identifier that is too long', { 'github-public-key-identifier': 'x'.repeat(129) }],
    ['another listed identifier', { 'github-public-key-identifier': 'former' }],
    ['no signature', { 'github-public-key-signature': '' }],
    ['a signature that is not base64', { 'github-public-key-signature': '*'.repeat(96) }],
    ['a signature of other bytes', { 'github-public-key-signature': SIGNER.sign('[]') }],
    ['a signature that is too long', { 'github-public-key-signature': 'A'.repeat(4_000) }],
  ])('rejects %s', async (_, headers) => {
    const { leaks, calls } = open();
    const answer = await answerOf(leaks, fromGitHub(BODY, SIGNER, headers));
    expect(answer).toMatchObject({ status: 403, noStore: true });
    expect(JSON.stringify(answer.body)).not.toContain(KEY);
    expect(calls).toEqual([]);
  });

  it('does not fetch the list for a malformed identifier or signature', async () => {
    const own = await openListing([]);
    const { leaks } = setUpLeaks({ github: own.source });
    const identifier = 'github-public-key-identifier';
    const signature = 'github-public-key-signature';
    const odd: readonly Record<string, string>[] = [
      { [identifier]: 'a b' },
      { [identifier]: 'x'.repeat(129) },
      { [signature]: 'short' },
    ];
    for (const headers of odd) await answerOf(leaks, fromGitHub(BODY, SIGNER, headers));
    expect(own.asked()).toBe(0);
    own.close();
  });

  it('rejects a report without the headers', async () => {
    const { leaks } = open();
    expect(await answerOf(leaks, post('github', BODY))).toMatchObject({ status: 403 });
    const identifier = { 'github-public-key-identifier': 'current' };
    expect(await answerOf(leaks, post('github', BODY, identifier))).toMatchObject({ status: 403 });
  });

  it('rejects a body that is shorter, longer or encoded differently', async () => {
    const { leaks } = open();
    const headers = {
      'github-public-key-identifier': SIGNER.listed.key_identifier,
      'github-public-key-signature': SIGNER.sign(BODY),
    };
    for (const body of [BODY.slice(0, -1), `${BODY}\n`, `\ufeff${BODY}`]) {
      expect(await answerOf(leaks, post('github', body, headers))).toMatchObject({ status: 403 });
    }
    // Bytes that are not UTF-8 can be signed, but they are not JSON.
    const bytes = Uint8Array.from([...Buffer.from(BODY), 0xff]);
    const signed = { ...headers, 'github-public-key-signature': SIGNER.sign(bytes) };
    const url = 'https://api.example.com/leaks/github';
    const request = new Request(url, { method: 'POST', headers: signed, body: bytes });
    expect(await answerOf(leaks, request)).toMatchObject({ status: 400 });
  });

  it('stops reading a body of 10 MB', async () => {
    const { leaks } = open();
    let sent = 0;
    const chunk = new Uint8Array(64 * 1024).fill(0x20);
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += chunk.length;
        if (sent > 10 * 1024 * 1024) controller.close();
        else controller.enqueue(chunk);
      },
    });
    const headers = {
      'github-public-key-identifier': SIGNER.listed.key_identifier,
      'github-public-key-signature': SIGNER.sign('[]'),
    };
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
    const request = new Request('https://api.example.com/leaks/github', init);
    expect(await answerOf(leaks, request)).toMatchObject({ status: 413 });
    expect(sent).toBeLessThan(2 * 1024 * 1024);
  });
});

describe('the GitHub route, in an outage', () => {
  // Regression: it rejected the report, and GitHub does not retry a rejected one.
  it('answers 503 if the list may have a new key by now, so that GitHub retries', async () => {
    const next = createSigner('next');
    const own = await openListing([SIGNER.listed]);
    const { leaks, errors, calls } = setUpLeaks({ github: own.source });
    expect(await answerOf(leaks, fromGitHub([]))).toMatchObject({ status: 200 });
    own.answer(200, { public_keys: [SIGNER.listed, next.listed] });
    const answer = await leaks(fromGitHub([{ token: generateKey({ prefix: 'acme' }) }], next));
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(own.asked()).toBe(1);
    // A stranger with made-up identifiers must not fill the log.
    expect(errors).toEqual([]);
    expect(calls).toEqual([]);
    own.close();
  });

  it('answers 503 if the list is unavailable, and does not use the store', async () => {
    const away = await openListing([]);
    away.answer(500, '');
    const { leaks, keyring, calls, errors } = setUpLeaks({ github: away.source });
    const { key } = await issue(keyring);
    calls.length = 0;
    const answer = await answerOf(leaks, fromGitHub([{ token: key }]));
    expect(answer).toMatchObject({ status: 503, noStore: true });
    expect(errors).toHaveLength(1);
    expect(calls).toEqual([]);
    away.close();
  });

  it('answers 503 and reports one error if the store is broken, after some tokens', async () => {
    const { leaks, keyring, errors, intercept } = open();
    const { key } = await issue(keyring);
    const tokens = Array.from({ length: 200 }, () => generateKey({ prefix: 'acme' }));
    let asked = 0;
    intercept(() => {
      asked += 1;
      return Promise.reject(new Error('ECONNRESET'));
    });
    const report = () => fromGitHub([...tokens, key].map((token) => ({ token })));
    const answer = await answerOf(leaks, report());
    expect(answer).toMatchObject({ status: 503, noStore: true });
    expect(errors).toHaveLength(1);
    expect(asked).toBeGreaterThanOrEqual(50);
    expect(asked).toBeLessThan(60);
    intercept((_method, _args, call) => call());
    expect(await answerOf(leaks, report())).toMatchObject({ status: 200 });
    await expect(keyring.verify(key)).rejects.toMatchObject({ code: 'invalid_token' });
  });

  // Regression: each failure stopped a worker, so four rows that always failed shielded the others.
  it('answers 503 if some look-ups fail, after handling all other tokens', async () => {
    const { leaks, keyring, errors, intercept } = open();
    const { key } = await issue(keyring);
    const tokens = Array.from({ length: 40 }, () => generateKey({ prefix: 'acme' }));
    let asked = 0;
    intercept((_method, _args, call) => {
      asked += 1;
      return asked <= 40 ? Promise.reject(new Error('ECONNRESET')) : call();
    });
    const report = fromGitHub([...tokens, key].map((token) => ({ token })));
    expect(await answerOf(leaks, report)).toMatchObject({ status: 503 });
    expect(errors).toHaveLength(1);
    intercept((_method, _args, call) => call());
    await expect(keyring.verify(key)).rejects.toMatchObject({ reason: 'revoked' });
  });
});
