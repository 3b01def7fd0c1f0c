/** GitLab's Token Revocation API, with and without the secret. */
import { generateKey } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { issue } from '../support/keyring.ts';
import {
  answerOf,
  fromGitLab,
  get,
  post,
  SECRET,
  setUpLeaks,
  TYPE,
  VECTORS,
} from '../support/leak-reports.ts';

const gitlab = { secret: SECRET, types: [TYPE] };
const open = () => setUpLeaks({ gitlab });

describe('the GitLab routes', () => {
  const [{ type = '' } = {}] = VECTORS.gitlab.tokens;
  const documented = { secret: SECRET, types: [type] };

  it('answer as GitLab documents', async () => {
    const { leaks, calls } = setUpLeaks({ gitlab: documented });
    const headers = { authorization: SECRET };
    expect(await answerOf(leaks, get('gitlab/v1/revocable_token_types', headers))).toEqual({
      status: 200,
      body: VECTORS.gitlab.types,
      noStore: true,
    });
    const answer = await answerOf(leaks, fromGitLab(VECTORS.gitlab.tokens));
    expect(answer).toEqual({ status: 204, body: null, noStore: true });
    expect(calls).toEqual([]);
  });
});

describe('the GitLab routes, with the secret', () => {
  it('end reported keys, without saying which tokens are keys', async () => {
    const { leaks, keyring, found } = open();
    const { key, info } = await issue(keyring);
    const location = 'https://gitlab.example/acme/app/-/blob/1f/.env';
    const live = await answerOf(leaks, fromGitLab([{ type: TYPE, token: key, location }]));
    const other = generateKey({ prefix: 'acme' });
    const unknown = await answerOf(leaks, fromGitLab([{ type: TYPE, token: other, location }]));
    expect(live).toEqual({ status: 204, body: null, noStore: true });
    expect(unknown).toEqual(live);
    const { keyId } = info;
    expect(found).toMatchObject([{ source: 'gitlab', where: location, keyId, ended: [keyId] }]);
  });

  it('accept the secret after an auth-scheme', async () => {
    const { leaks } = open();
    const report = fromGitLab([], { authorization: `Bearer ${SECRET}` });
    expect(await answerOf(leaks, report)).toMatchObject({ status: 204 });
  });

  it('reject a whole report if one type is unknown', async () => {
    const { leaks, keyring } = open();
    const { key } = await issue(keyring);
    const tokens = [
      { type: TYPE, token: key },
      { type: 'constructor', token: key },
    ];
    expect(await answerOf(leaks, fromGitLab(tokens))).toMatchObject({ status: 400 });
    expect(await keyring.verify(key)).toBeTruthy();
  });

  it.each(['{}', '[', '[{ "type": "x" }]', ''])('reject a malformed report: %s', async (body) => {
    const { leaks } = open();
    expect(await answerOf(leaks, fromGitLab(body))).toMatchObject({ status: 400, noStore: true });
  });

  it('reject a report that is too long', async () => {
    const { leaks } = open();
    const body = ' '.repeat(1024 * 1024 + 1);
    expect(await answerOf(leaks, fromGitLab(body))).toMatchObject({ status: 413 });
  });
});

describe('the GitLab routes, without the secret', () => {
  it.each([
    '',
    'x',
    SECRET.slice(0, -1),
    `${SECRET}x`,
    SECRET.toUpperCase(),
    `Basic ${SECRET}`,
    `Bearer ${SECRET}x`,
    'Bearer',
  ])('reject a request before reading its body: %j', async (authorization) => {
    const { leaks, calls } = open();
    const token = generateKey({ prefix: 'acme' });
    const report = fromGitLab([{ type: TYPE, token }], { authorization });
    expect(await answerOf(leaks, report)).toMatchObject({ status: 401, noStore: true });
    expect(report.bodyUsed).toBe(false);
    const types = get('gitlab/v1/revocable_token_types', { authorization });
    const answer = await leaks(types);
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="leaks"');
    expect(calls).toEqual([]);
  });

  it('reject a request without the header', async () => {
    const { leaks } = open();
    expect(await answerOf(leaks, post('gitlab/v1/revoke_tokens', '[]'))).toMatchObject({
      status: 401,
    });
  });

  it('answer 404 if GitLab is not mounted', async () => {
    const { leaks } = setUpLeaks({ holder: {} });
    for (const request of [fromGitLab([]), post('github', '[]')]) {
      expect(await answerOf(leaks, request)).toMatchObject({ status: 404 });
    }
  });
});
