/** Options that cannot be meant are refused at start-up, and requests that nothing is for. */
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

describe('an option', () => {
  it.each<[string, object, string]>([
    ['none', {}, 'createLeakHandler: pass github, gitlab or holder'],
    ['unknown', { holder: {}, path: '/x' }, 'unknown field "path"'],
    ['no keyrings', { keyrings: undefined, holder: {} }, 'keyrings: pass { prefix: keyring }'],
    ['no keyring', { keyrings: {}, holder: {} }, 'keyrings: pass { prefix: keyring }'],
    ['a keyring itself', { keyrings: keyring, holder: {} }, 'pass what createKeyring returned'],
    ['no prefix', { keyrings: { 'a b': keyring }, holder: {} }, 'prefix: 1 to 20'],
    [
      'another object',
      { keyrings: { acme: {} }, holder: {} },
      'keyrings: "acme": pass what createKeyring',
    ],
    ['a path', { basePath: 'leaks', holder: {} }, 'basePath: pass a path such as /leaks'],
    ['a path', { basePath: '/leaks/', holder: {} }, 'basePath: pass a path such as /leaks'],
    ['a path', { basePath: '/a b', holder: {} }, 'basePath: write it as "/a%20b"'],
    ['a listener', { onLeak: true, holder: {} }, 'onLeak'],
    ['a listener', { onError: {}, holder: {} }, 'onError'],
    ['github', { github: true }, 'github: pass an object'],
    ['github', { github: { secret: 'x' } }, 'github: unknown field "secret"'],
    ['github', { github: { action: 'delete' } }, 'github: action: pass one of revoke, '],
    ['github', { github: { actor: '' } }, 'github: actor: 1 to 200 characters'],
    ['github', { github: { evenIfEnded: 1 } }, 'github: evenIfEnded: pass true or false'],
    ['github', { github: { evenIfEnded: true } }, 'it is for the action revokeLineage alone'],
    ['github', { github: { fetch: 'x' } }, 'github: fetch'],
    ['github', { github: { publicKeysUrl: 'http://x/' } }, 'pass a URL of https'],
    ['github', { github: { publicKeysUrl: 'x' } }, 'pass a URL of https'],
    ['gitlab', { gitlab: { types: ['a'] } }, 'gitlab: secret: pass 32 to 1,024 printable'],
    ['gitlab', { gitlab: { ...gitlab, secret: 'x'.repeat(31) } }, 'gitlab: secret'],
    ['gitlab', { gitlab: { ...gitlab, secret: 'x y'.repeat(20) } }, 'gitlab: secret'],
    ['gitlab', { gitlab: { ...gitlab, types: [] } }, 'gitlab: types: name at least one'],
    ['gitlab', { gitlab: { ...gitlab, types: 'acme' } }, 'gitlab: types'],
    ['gitlab', { gitlab: { ...gitlab, types: [4] } }, 'gitlab: types'],
    ['holder', { holder: { types: [] } }, 'holder: unknown field "types"'],
  ])('that cannot be meant is refused: %s %j', (_, options, instead) => {
    const all: LeakHandlerOptions = untyped({ keyrings, ...options });
    const said = complaint(() => createLeakHandler(all));
    expect(said).toContain(instead);
    expect(said).not.toContain('x y');
  });

  it('that says where it is moves every door', async () => {
    const { leaks } = setUpLeaks({ holder: {}, basePath: '' });
    expect(await answerOf(leaks, fromHolder('x'))).toMatchObject({ status: 404 });
    const url = 'https://api.example.com/revoke';
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const request = new Request(url, { method: 'POST', headers, body: 'token=x' });
    expect(await answerOf(leaks, request)).toMatchObject({ status: 200 });
  });

  it('says where the public keys are and who fetches them; by default, the platform', async () => {
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

  it('without listeners is enough', async () => {
    const leaks = createLeakHandler({ keyrings, holder: {} });
    expect(await answerOf(leaks, fromHolder('x'))).toMatchObject({ status: 200 });
  });
});

describe('a request', () => {
  let listing: Listing;
  let leaks: LeakHandler;
  beforeAll(async () => {
    listing = await openListing([SIGNER.listed]);
    leaks = setUpLeaks({ github: listing.source, gitlab, holder: {} }).leaks;
  });
  afterAll(() => listing.close());

  it('for another path finds nothing', async () => {
    for (const path of ['', 'github/', 'GitHub', 'revoke/x', '../leaks', '%67ithub']) {
      expect(await answerOf(leaks, post(path, '')), path).toMatchObject({
        status: 404,
        noStore: true,
      });
    }
  });

  it('with another method is told which', async () => {
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

  it('whose body somebody has read is a mistake of the server, and says so', async () => {
    const requests = [
      fromGitHub([]),
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

  it('without a type is no form', async () => {
    const init = { method: 'POST', body: new Uint8Array([0x78]) };
    const request = new Request('https://api.example.com/leaks/revoke', init);
    expect(await answerOf(leaks, request)).toMatchObject({ status: 400 });
  });

  it('that is none is a bug of the caller', async () => {
    await expect(leaks(untyped({ url: '/leaks/revoke' }))).rejects.toThrow('leaks: pass a fetch');
  });

  // It was in the answer alone, so nobody who runs the service heard of it.
  it('that somebody has read before is 500, and told', async () => {
    const { leaks: own, errors } = setUpLeaks({ holder: {}, gitlab });
    for (const request of [fromHolder('x'), fromGitLab([{ token: 'x', type: 'acme' }])]) {
      await request.text();
      expect(await answerOf(own, request)).toMatchObject({ status: 500 });
    }
    expect(errors.map(String)).toEqual(
      Array(2).fill(expect.stringMatching(/^TypeError: leaks: A body parser .* has read the body/)),
    );
  });

  it('that breaks off is a bug nobody has: 500, told, and nothing is done', async () => {
    const { leaks: own, errors } = setUpLeaks({ holder: {} });
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) });
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
    const answer = await answerOf(own, new Request('https://h/leaks/revoke', init));
    expect(answer.status).toBe(500);
    expect(errors).toHaveLength(1);
  });
});
