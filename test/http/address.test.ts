/** Which addresses of other parties are accepted. */
import { describe, expect, it } from 'vitest';
import { assertIsSecure } from '../../src/http/address.js';
import { createFetchedList } from '../../src/http/fetched-list.js';

const NEVER = { maxAgeMs: 0, refreshMs: 0, pauseMs: 0, overlapMs: 0, read: () => new Map() };

/** Each way in which an address is passed. */
const WAYS: readonly ((url: URL) => unknown)[] = [
  (url) => assertIsSecure(url, 'list'),
  (url) => createFetchedList({ ...NEVER, name: 'list', url }, () => {}),
];

describe('an address of another party', () => {
  it.each([
    ['http://acme.example/list', /^list: pass an https URL/],
    ['http://localhost.acme.example/list', /^list: pass an https URL/],
    ['http://127.0.0.2/list', /^list: pass an https URL/],
    ['file:///etc/list', /^list: pass an https URL/],
    ['ftp://localhost/list', /^list: pass an https URL/],
    ['https://user@acme.example/list', /^list: pass a URL without credentials$/],
    ['https://:secret@acme.example/list', /^list: pass a URL without credentials$/],
  ])('is not %s', (url, instead) => {
    for (const pass of WAYS) {
      expect(() => pass(new URL(url))).toThrow(TypeError);
      expect(() => pass(new URL(url))).toThrow(instead);
    }
  });

  it.each(['https://acme.example/', 'http://localhost:1/', 'http://127.0.0.1/', 'http://[::1]/'])(
    'may be %s',
    (url) => {
      for (const pass of WAYS) expect(() => pass(new URL(url))).not.toThrow();
    },
  );
});
