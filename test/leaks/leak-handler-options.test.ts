/** Invalid options are rejected at start-up, and requests that no route is for. */
import type { LeakHandler, LeakHandlerOptions } from 'keyscope/leaks';
import { createLeakHandler } from 'keyscope/leaks';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { complaint } from '../support/complaint.ts';
import { setUp, untyped } from '../support/keyring.ts';
import {
  answerOf,
  fromGitHub,
  fromGitLab,
  fromHolder,
  fromHolderAs,
  get,
  type Listing,
  openListing,
  post,
  SECRET,
  SIGNER,
  setUpLeaks,
} from '../support/leak-reports.ts';

const { keyring } = setUp();
const keyrings = { acme: keyring };
const gitlab = { secret: SECRET, types: ['acme'] };

describe('createLeakHandler', () => {
  it.each<[string, object, string]>([
    ['no source', {}, 'no source is mounted. Pass github, gitlab or holder'],
    ['an unknown option', { holder: {}, path: '/x' }, 'unknown field "path"'],
    ['no keyrings', { keyrings: undefined, holder: {} }, 'keyrings: pass { prefix: keyring }'],
    ['empty keyrings', { keyrings: {}, holder: {} }, 'keyrings: pass { prefix: keyring }'],
    ['a keyring itself', { keyrings: keyring, holder: {} }, 'pass a keyring from createKeyring'],
    ['a malformed prefix', { keyrings: { 'a b': keyring }, holder: {} }, 'prefix: 1 to 20'],
    [
      'another object as a keyring',
      { keyrings: { acme: {} }, holder: {} },
      'keyrings: "acme": pass a keyring from',
    ],
    ['a path', { basePath: 'leaks', holder: {} }, 'basePath: pass a path such as /leaks'],
    ['a path', { basePath: '/leaks/', holder: {} }, 'basePath: pass a path such as /leaks'],
    ['a path', { basePath: '/a b', holder: {} }, 'basePath: write it as "/a%20b"'],
    ['a listener', { onLeak: true, holder: {} }, 'onLeak'],
    ['a listener', { onError: {}, holder: {} }, 'onError'],
    ['github', { github: true }, 'github: pass an object'],
    ['github', { github: { secret: 'x' } }, 'github: unknown field "secret"'],
    ['github', { github: { action: 'delete' } }, 'github: action: pass one of revoke, '],
    ['github', { github: { evenIfEnded: 1 } }, 'github: evenIfEnded: pass true or false'],
    ['github', { github: { evenIfEnded: true } }, 'remove it, or pass the action revokeLineage'],
    ['github', { github: { fetch: 'x' } }, 'github: fetch'],
    ['gitlab', { gitlab: { types: ['a'] } }, 'gitlab: secret: pass 32 to 1,024 printable'],
    ['gitlab', { gitlab: { ...gitlab, secret: 'x'.repeat(31) } }, 'gitlab: secret'],
    ['gitlab', { gitlab: { ...gitlab, secret: 'x y'.repeat(20) } }, 'gitlab: secret'],
    ['gitlab', { gitlab: { ...gitlab, types: [] } }, 'gitlab: types: pass at least one'],
    ['gitlab', { gitlab: { ...gitlab, types: 'acme' } }, 'gitlab: types'],
    ['gitlab', { gitlab: { ...gitlab, types: [4] } }, 'gitlab: types'],
    ['holder', { holder: { types: [] } }, 'holder: unknown field "types"'],
  ])('rejects %s: %j', (_, options, instead) => {
    const all: LeakHandlerOptions = untyped({ keyrings, ...options });
    const said = complaint(() => createLeakHandler(all));
    expect(said).toContain(instead);
    expect(said).not.toContain('x y');
  });

  it('mounts every route under basePath', async () => {
    const { leaks } = setUpLeaks({ holder: {}, basePath: '' });
    expect(await answerOf(leaks, fromHolder('x'))).toMatchObject({ status: 404 });
    const url = 'https://api.example.com/revoke';
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const request = new Request(url, { method: 'POST', headers, body: 'token=x' });
    expect(await answerOf(leaks, request)).toMatchObject({ status: 200 });
  });

  it("fetches GitHub's list with the global fetch by default", async () => {
    const urls: string[] = [];
    vi.stubGlobal('fetch', async (url: string) => {
      urls.push(url);
      return Response.json({ public_keys: [SIGNER.listed] });
    });
    try {
      const { leaks } = setUpLeaks({ github: {} });
      expect(await answerOf(leaks, fromGitHub([]))).toMatchObject({ status: 200, body: [] });
      expect(urls).toEqual(['https://api.github.com/meta/public_keys/secret_scanning']);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it('works without listeners', async () => {
    const leaks = createLeakHandler({ keyrings, holder: {} });
    expect(await answerOf(leaks, fromHolder('x'))).toMatchObject({ status: 200 });
  });
});

const unsigned = { 'github-public-key-signature': SIGNER.sign('other') };

describe('the leak handler', () => {
  let listing: Listing;
  let leaks: LeakHandler;
  beforeAll(async () => {
    listing = await openListing([SIGNER.listed]);
    leaks = setUpLeaks({ github: listing.source, gitlab, holder: {} }).leaks;
  });
  afterAll(() => listing.close());

  it('answers 404 on other paths', async () => {
    for (const path of ['', 'github/', 'GitHub', 'revoke/x', '../leaks', '%67ithub']) {
      expect(await answerOf(leaks, post(path, '')), path).toMatchObject({
        status: 404,
        noStore: true,
      });
    }
  });

  it('answers 405 to other methods and names the allowed one', async () => {
    const requests: readonly [Request, string][] = [
      [get('github'), 'POST'],
      [get('revoke'), 'POST'],
      [get('gitlab/v1/revoke_tokens'), 'POST'],
      [post('gitlab/v1/revocable_token_types', ''), 'GET'],
    ];
    for (const [request, allowed] of requests) {
      const answer = await leaks(request);
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, allowed]);
      expect(answer.headers.get('content-type')).toBe('application/problem+json');
    }
  });

  it('answers 500 with an explanation if a parser has read the body', async () => {
    const requests = [
      fromGitHub([]),
      fromGitHub([], SIGNER, { 'transfer-encoding': 'chunked' }),
      fromHolder('x'),
      post('gitlab/v1/revoke_tokens', '[]', { authorization: SECRET }),
    ];
    for (const request of requests) {
      await request.text();
      const answer = await answerOf(leaks, request);
      expect(answer.status).toBe(500);
      expect(JSON.stringify(answer.body)).toContain('mount the handler before the parser');
    }
  });

  it('answers 400 to a holder without a content type', async () => {
    const init = { method: 'POST', body: new Uint8Array([0x78]) };
    const request = new Request('https://api.example.com/leaks/revoke', init);
    expect(await answerOf(leaks, request)).toMatchObject({ status: 400 });
  });

  it('throws if its argument is not a Request', async () => {
    await expect(leaks(untyped({ url: '/leaks/revoke' }))).rejects.toThrow('leaks: pass a fetch');
  });

  // Regression: only the answer contained the error, so the operators did not see it.
  it('reports a body that was already read to onError', async () => {
    const { leaks: own, errors } = setUpLeaks({ holder: {}, gitlab });
    for (const request of [fromHolder('x'), fromGitLab([{ token: 'x', type: 'acme' }])]) {
      await request.text();
      expect(await answerOf(own, request)).toMatchObject({ status: 500 });
    }
    expect(errors.map(String)).toEqual(
      Array(2).fill(expect.stringMatching(/^TypeError: leaks: A body parser .* has read the body/)),
    );
  });

  // Regression: the answer was a 500, and a stranger could fill the log.
  it('answers 400 without a report if the body breaks off', async () => {
    const { leaks: own, errors } = setUpLeaks({ holder: {} });
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) });
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
    const answer = await answerOf(own, new Request('https://h/leaks/revoke', init));
    expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
    expect(errors).toEqual([]);
  });

  // Regression: the answer was a 500, and a stranger could fill the log.
  it('answers an empty body the same way in chunks as with a length', async () => {
    const own = setUpLeaks({ github: listing.source, gitlab, holder: {} });
    const makers: readonly [number, (headers: Record<string, string>) => Request][] = [
      [400, (headers) => fromGitHub('', SIGNER, headers)],
      [403, (headers) => fromGitHub('', SIGNER, { ...headers, ...unsigned })],
      [400, (headers) => fromGitLab('', headers)],
      [400, (headers) => fromHolderAs('', undefined, headers)],
    ];
    for (const [status, make] of makers) {
      const answer = await answerOf(own.leaks, make({ 'transfer-encoding': 'chunked' }));
      expect(answer.status).toBe(status);
      expect(answer).toEqual(await answerOf(own.leaks, make({ 'content-length': '0' })));
    }
    expect(own.errors).toEqual([]);
  });
});
