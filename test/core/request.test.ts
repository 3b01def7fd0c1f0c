import { expect, it } from 'vitest';
import { denied, issue, setUp, untyped } from '../support/keyring.ts';

// Node 20 drops the lines behind the first thousand or so, and a second credential with them.
it('finds no single credential in a request with more lines than Node keeps', async () => {
  const { keyring } = setUp();
  const { key } = await issue(keyring);
  const lines = (count: number) => [
    'authorization',
    `Bearer ${key}`,
    ...Array(count - 1)
      .fill(['a', 'b'])
      .flat(),
  ];
  await keyring.authenticate({ rawHeaders: lines(1000) });
  for (const count of [1001, 1024, 5000])
    await denied(
      () => keyring.authenticate({ rawHeaders: lines(count) }),
      'invalid_request',
      'malformed_header',
    );
});

it('counts two lines as two credentials where a framework wraps the request of Node', async () => {
  const { keyring } = setUp();
  const { key } = await issue(keyring);
  const line = `Bearer ${key}`;
  const rawHeaders = ['Authorization', line, 'Authorization', 'Bearer other'];
  const headers = { authorization: line };
  for (const request of [
    { raw: { rawHeaders }, headers },
    { req: { rawHeaders }, headers },
    { raw: { req: { rawHeaders }, res: {} }, headers },
  ]) {
    await denied(
      () => keyring.authenticate(untyped(request)),
      'invalid_request',
      'malformed_header',
    );
  }
});

it('finds the credential beside a header that is called headers', async () => {
  const { keyring } = setUp();
  const { key, info } = await issue(keyring);
  const request = untyped<Headers>({ headers() {}, authorization: `Bearer ${key}` });
  expect((await keyring.authenticate(request)).keyId).toBe(info.keyId);
});

it('reads a name only where a name stands, whatever the values are', async () => {
  const { keyring } = setUp();
  const { key } = await issue(keyring);
  const rawHeaders = [
    'X-Wants',
    'authorization',
    `Bearer ${key}`,
    'x',
    'Authorization',
    'Basic eDp5',
  ];
  const error = await denied(
    () => keyring.authenticate({ rawHeaders }),
    'missing_credentials',
    'other_scheme',
  );
  expect(error.reason).toBe('other_scheme');
});
