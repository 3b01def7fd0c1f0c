/** The errors of createKeyAdmin about wrong options. */
import { createKeyAdmin, type KeyAdminOptions } from 'keyscope/admin';
import { describe, expect, it } from 'vitest';
import { GRANT } from '../support/admin.ts';
import { complaint } from '../support/complaint.ts';
import { setUp } from '../support/keyring.ts';

const { keyring } = setUp();
const authorityOf = () => GRANT;

function complaintWith(over: object): string {
  return complaint(() => createKeyAdmin({ keyring, authorityOf, ...over } as KeyAdminOptions));
}

describe('createKeyAdmin', () => {
  it.each<[object, RegExp]>([
    [{ keyring: undefined }, /^keyring: pass what createKeyring returned/],
    [{ keyring: {} }, /^keyring/],
    [{ keyring: { ...keyring, revokeLineage: undefined } }, /^keyring/],
    [{ keyring: { ...keyring, issueKeyless: undefined } }, /^keyring/],
    [{ authorityOf: undefined }, /^authorityOf: pass \(request\) => authority/],
    [{ authorityOf: GRANT }, /^authorityOf/],
    [{ realm: 'a\nb' }, /^realm/],
    [{ realm: null }, /^realm/],
    [{ onError: 'log' }, /^onError: pass a function/],
    [{ authorityTimeoutMs: 0 }, /^authorityTimeoutMs: pass a whole number/],
    [{ authorityTimeoutMs: Number.POSITIVE_INFINITY }, /^authorityTimeoutMs/],
    [{ origins: 'https://a.example' }, /^origins: pass a list/],
    [{ origins: ['https://a.example/'] }, /^origins: element 0: pass an origin/],
    [{ origins: ['a.example'] }, /^origins/],
    [{ origins: ['*'] }, /^origins/],
    [{ origins: ['null'] }, /^origins/],
    [{ origins: ['https://A.example'] }, /^origins/],
    [{ origins: ['https://a.example:443'] }, /^origins/],
    [{ basePath: 'keys' }, /^basePath: pass a path such as \/keys/],
    [{ basePath: '/keys/' }, /^basePath/],
    [{ basePath: '/' }, /^basePath/],
    [{ basePath: '' }, /^basePath/],
    [{ basePath: 7 }, /^basePath/],
    [{ basePath: '/a?b' }, /^basePath/],
    [{ basePath: '/{org}/keys' }, /^basePath/],
    [{ basePath: '/a/../keys' }, /^basePath: write it as "\/keys"/],
    [{ basePath: '/clés' }, /^basePath: write it as/],
    [{ base: '/keys' }, /unknown field "base"/],
  ])('refuses %j', (over, message) => {
    expect(complaintWith(over)).toMatch(message);
  });
});
