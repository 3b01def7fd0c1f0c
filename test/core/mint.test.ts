import { memoryStore } from 'keyscope/stores/memory';
import { expect, it } from 'vitest';
import { AUTHORITY, issue, PLAIN, setUp, wrap } from '../support/keyring.ts';

it('gives a store plain objects, frozen to the bottom: some serializers take nothing else', async () => {
  const rows: object[] = [];
  const store = wrap(memoryStore(), (method, args, call) => {
    if (method === 'insert') rows.push(args[0] as object);
    return call();
  });
  const { keyring } = setUp({ store });
  const { info } = await keyring.issue({ ...PLAIN, metadata: { a: '1' } }, AUTHORITY);
  await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
  expect(rows).toHaveLength(2);
  for (const row of rows) {
    expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
    const parts = [row, ...Object.values(row)].filter(
      (part) => typeof part === 'object' && part !== null,
    );
    expect(parts.filter((part) => !Object.isFrozen(part))).toEqual([]);
  }
});

it('takes ids from the platform, as version 4, whatever the source of the keys', async () => {
  const random = (length: number) => new Uint8Array(length).fill(0x5a);
  const made = [issue(setUp({ random }).keyring), issue(setUp({ random }).keyring)];
  const ids = (await Promise.all(made)).map(({ info }) => info.keyId);
  expect(new Set(ids).size).toBe(2);
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
