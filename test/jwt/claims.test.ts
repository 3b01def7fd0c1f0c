/** Checks that jose does not make: the spelling of a token, and proof that each check is needed. */
import { describe, expect, it } from 'vitest';
import { CLAIM_CHECKS, HEADER_CHECKS, holdsAll, TEXT_CHECKS } from '../../src/jwt/claims.js';
import { accepts } from '../support/jwt.ts';
import { ATTACKS, VERIFIER, VERIFIER_OF_ONE_KEY } from '../support/token-attacks.ts';

/** Whether the text of a token passes the checks before decoding. */
function passes(token: string): boolean {
  return holdsAll(TEXT_CHECKS, token);
}

describe('the spelling of a token', () => {
  const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  /** Puts a part into each of the three places. */
  const placed = (part: string) => [`${part}.AA.AA`, `AA.${part}.AA`, `AA.AA.${part}`];

  it('must be the one that an encoder writes, for every end of a part', () => {
    let own = 0;
    for (const length of [0, 1, 2, 3, 4, 5, 6, 7, 8]) {
      for (const last of ALPHABET) {
        const part = 'A'.repeat(Math.max(length - 1, 0)) + (length === 0 ? '' : last);
        const canonical = Buffer.from(part, 'base64url').toString('base64url') === part;
        if (canonical) own++;
        for (const token of placed(part))
          expect([token, passes(token)]).toEqual([token, canonical]);
      }
    }
    // The empty part once per letter; then 0, 4, 16 and 64 letters can come last, twice.
    expect(own).toBe(64 + 2 * (0 + 4 + 16 + 64));
  });

  it('must be three parts of the base64url alphabet', () => {
    expect(['..', 'AA.AA.AA'].map(passes)).toEqual([true, true]);
    for (const token of ['', '.', 'AA', 'AA.AA', 'AA.AA.AA.', '.AA.AA.AA', 'AA.AA.AA.AA'])
      expect([token, passes(token)]).toEqual([token, false]);
    for (let code = 0; code < 0x180; code++) {
      const odd = String.fromCharCode(code);
      if (ALPHABET.includes(odd) || odd === '.') continue;
      for (const part of [`${odd}AAA`, `AA${odd}A`, `AAA${odd}`])
        for (const token of placed(part)) expect([token, passes(token)]).toEqual([token, false]);
    }
  });
});

describe('the length of a token', () => {
  it('is at most 16,384 characters', () => {
    const ofLength = (length: number) => `AAAA.AA.${'AAAA'.repeat((length - 8) / 4)}`;
    expect(ofLength(16_384)).toHaveLength(16_384);
    expect(passes(ofLength(16_384))).toBe(true);
    expect(passes(ofLength(16_388))).toBe(false);
  });
});

describe('each check is needed:', () => {
  const tables = [TEXT_CHECKS, HEADER_CHECKS, CLAIM_CHECKS];
  const all = tables.flatMap((table) =>
    Object.keys(table).map((name): [string, object] => [name, table]),
  );

  it.each(all)('%s', async (name, table) => {
    const checks = table as Record<string, unknown>;
    const original = checks[name];
    const through: string[] = [];
    checks[name] = () => true;
    try {
      for (const [attack, token] of ATTACKS) {
        const verifiers = [VERIFIER, VERIFIER_OF_ONE_KEY];
        const answers = await Promise.all(verifiers.map((one) => accepts(one, token)));
        if (answers.includes(true)) through.push(attack);
      }
    } finally {
      checks[name] = original;
    }
    expect(through).not.toEqual([]);
  });
});
