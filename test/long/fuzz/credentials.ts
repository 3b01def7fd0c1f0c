/** Fuzzes credentials and requests: only the live key and its token get in. */
import assert from 'node:assert/strict';
import { generateKey } from 'keyscope';
import type { Target } from './judge.ts';
import { requireComplaint, requireData, requireDenial, settled } from './judge.ts';
import { textsOf } from './mutate.ts';
import { ENDED, LIVE, LIVE_TOKEN, ring } from './subject.ts';

const credentials = [LIVE, ENDED, LIVE_TOKEN, generateKey({ prefix: 'acme' })];
const bearer = `Bearer ${LIVE}`;
const AUTHENTICATION = ['missing_credentials', 'invalid_request', 'invalid_token'];

/** Whether this is a header with one of the two valid credentials. */
function isRight(it: unknown): boolean {
  const scheme = /^bearer +/i;
  if (typeof it !== 'string' || !scheme.test(it)) return false;
  return [LIVE, LIVE_TOKEN].includes(it.replace(scheme, ''));
}

async function checkVerify(given: unknown): Promise<void> {
  const verified = await settled(ring.verify(given));
  if ('error' in verified) requireDenial(verified.error, ['invalid_token']);
  assert.equal('value' in verified, given === LIVE);
}

async function checkAuthenticate(given: unknown): Promise<void> {
  const { value, error } = await settled(ring.authenticate(given as string));
  const isText = typeof given === 'string' || Array.isArray(given);
  if (error instanceof TypeError) {
    requireComplaint(error, given);
    assert.ok(typeof given === 'object' && !isText, 'a text or a list is not a mistake');
    return;
  }
  if (error !== undefined) {
    requireDenial(error, AUTHENTICATION);
    const isTooLong = typeof given === 'string' && given.length > 16_384;
    assert.ok(isTooLong || !isRight(given), 'a valid credential was refused');
    return;
  }
  requireData(value);
  // Only one of the two gets in: behind its scheme, complete, and in a header with the right name.
  const texts = textsOf(given);
  assert.ok(texts.some(isRight));
  const isNamed = texts.some((text) => text.toLowerCase() === 'authorization');
  assert.ok(isNamed || isText, 'another header was read');
}

export const keyring: Target = {
  seeds: [
    ...credentials,
    ...credentials.map((each) => `Bearer ${each}`),
    undefined,
    '',
    `Basic ${LIVE}`,
    [bearer],
    [bearer, bearer],
    { authorization: bearer },
    { headers: { Authorization: bearer } },
    { rawHeaders: ['Authorization', bearer, 'Cookie', LIVE], headers: {} },
    { raw: { rawHeaders: ['authorization', bearer] } },
    {
      'x-api-key': LIVE,
      cookie: LIVE,
      'proxy-authorization': bearer,
      query: { authorization: LIVE },
    },
  ],
  words: [
    LIVE,
    ENDED,
    LIVE_TOKEN,
    LIVE.slice(5),
    LIVE.slice(0, -1),
    'Bearer ',
    '.',
    'authorization',
    'headers',
    'rawHeaders',
    'multiValueHeaders',
    'raw',
    'req',
    'cookie',
  ],
  async check(given) {
    await checkVerify(given);
    await checkAuthenticate(given);
  },
};
