import { describe, expect, it } from 'vitest';
import { isUuid } from '../../src/core/uuid.js';
import { beyondAscii } from '../support/beyond-ascii.ts';
import { OWN } from '../support/keyring.ts';

describe('isUuid', () => {
  it.each([
    OWN,
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '018f5e1a-7b2c-7d3e-8f40-123456789abc',
  ])('accepts %s, of any version', (text) => {
    expect(isUuid(text)).toBe(true);
  });

  it.each([
    '',
    OWN.toUpperCase(),
    `{${OWN}}`,
    `urn:uuid:${OWN}`,
    OWN.replaceAll('-', ''),
    OWN.slice(1),
    `${OWN}0`,
    ` ${OWN}`,
    `${OWN}\n`,
    OWN.replace('0a', '0g'),
    OWN.replace('-', ''),
    `${OWN},${OWN}`,
  ])('refuses the text %j', (text) => {
    expect(isUuid(text)).toBe(false);
  });

  it.each([undefined, null, 7, [OWN], { toString: () => OWN }, new String(OWN)])(
    'refuses %j, which is not a text',
    (value) => {
      expect(isUuid(value)).toBe(false);
    },
  );

  it('refuses characters beyond ASCII in every position', () => {
    for (const text of beyondAscii(OWN)) expect(isUuid(text), text).toBe(false);
  });
});
