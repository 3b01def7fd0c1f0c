/** Only pages of the service, and of the origins in its options, may change keys. */
import { describe, expect, it } from 'vitest';
import { answered, BASE, BODY, get, post, setUpAdmin } from '../support/admin.ts';
import { NOWHERE } from '../support/keyring.ts';

const EVIL = 'https://evil.example';
const CONSOLE = 'https://console.example.com';
const OWN_HOST = 'api.example.com';

type Headers = Readonly<Record<string, string>>;

const REFUSED: readonly Headers[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'same-origin, cross-site' },
  { 'sec-fetch-site': 'SAME-ORIGIN' },
  { 'sec-fetch-site': '' },
  { 'sec-fetch-site': 'later-word' },
  { 'sec-fetch-site': 'cross-site', origin: BASE },
  { origin: EVIL },
  { origin: CONSOLE },
  { origin: 'null' },
  { origin: '' },
  { origin: `${BASE}.evil.example` },
  { origin: `${BASE}:8443` },
  { origin: `https://${OWN_HOST}@evil.example` },
  // The host is the server's own, but browsers do not write origins like this.
  { origin: `https://user@${OWN_HOST}` },
  { origin: `https://user:secret@${OWN_HOST}` },
  { origin: `https://@${OWN_HOST}` },
  { origin: `${BASE}/` },
  { origin: `${BASE}/keys` },
  { origin: `${BASE}?x` },
  { origin: `${BASE}#x` },
  { origin: BASE.toUpperCase() },
  { origin: `${BASE}:443` },
  { origin: `${BASE}, ${EVIL}` },
  { origin: EVIL, host: OWN_HOST },
  { origin: BASE, host: 'other.example' },
  { origin: EVIL, 'sec-fetch-site': 'same-origin' },
  { origin: 'chrome-extension://abc', 'sec-fetch-site': 'none' },
  { origin: EVIL, 'x-forwarded-host': 'evil.example' },
];

const ACCEPTED: readonly Headers[] = [
  {},
  { 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'none' },
  { origin: BASE },
  { origin: BASE, 'sec-fetch-site': 'same-origin' },
  { origin: BASE, host: OWN_HOST },
  // The scheme is unknown behind a proxy that ends TLS.
  { origin: 'http://api.example.com', host: OWN_HOST },
  { origin: 'https://api.example.com:8443', host: `${OWN_HOST}:8443` },
];

describe('a request that changes keys', () => {
  it.each(REFUSED.map((headers) => [headers]))('is refused from %j', async (headers) => {
    let asked = 0;
    const authorityOf = () => {
      asked += 1;
      throw new Error('asked');
    };
    const { admin } = setUpAdmin({ authorityOf });
    for (const path of ['/keys', `/keys/${NOWHERE}/revoke`, `/keys/${NOWHERE}/rotate`]) {
      const request = post(path, BODY, headers);
      const { detail } = await answered(admin(request), 403);
      expect(detail).toContain('createKeyAdmin({ origins })');
      expect(request.bodyUsed).toBe(false);
    }
    expect(asked).toBe(0);
  });

  it.each(ACCEPTED.map((headers) => [headers]))('is accepted from %j', async (headers) => {
    const { admin } = setUpAdmin();
    await answered(admin(post('/keys', BODY, headers)), 201);
  });

  it('is accepted from the origins in the options, and no others', async () => {
    const { admin } = setUpAdmin({ origins: [CONSOLE] });
    for (const site of ['same-site', 'cross-site']) {
      const headers = { origin: CONSOLE, 'sec-fetch-site': site };
      await answered(admin(post('/keys', BODY, headers)), 201);
      await answered(admin(post('/keys', BODY, { ...headers, origin: EVIL })), 403);
      await answered(admin(post('/keys', BODY, { 'sec-fetch-site': site })), 403);
    }
    await answered(admin(post('/keys', BODY, { origin: BASE })), 201);
  });

  it('is refused by its type if it is a form, whatever the browser says', async () => {
    const { admin } = setUpAdmin();
    const form = { 'content-type': 'text/plain' };
    await answered(admin(post('/keys', BODY, form)), 415);
  });
});

describe('a request that only reads', () => {
  it('is answered, because other pages cannot read the answer', async () => {
    const { admin } = setUpAdmin();
    for (const headers of REFUSED) await answered(admin(get('/keys', headers)), 200);
  });
});
