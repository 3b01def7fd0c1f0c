/** A correct adapter passes the adapter contract; each wrong one fails exactly its tests. */
import { adapterContract } from 'keyscope/testing';
import { describe, expect, test } from 'vitest';
import { serveWith } from './right-adapter.ts';
import { failures } from './verdict.ts';
import type { WrongAdapters } from './wrong-adapter.ts';
import { WRONG_ANSWERS } from './wrong-adapters/answers.ts';
import { WRONG_CREDENTIALS } from './wrong-adapters/credentials.ts';
import { WRONG_ENTITIES } from './wrong-adapters/entities.ts';
import { WRONG_FAILURES } from './wrong-adapters/failures.ts';
import { WRONG_REQUESTS } from './wrong-adapters/requests.ts';
import { WRONG_SET_UPS } from './wrong-adapters/set-up.ts';

const ALL: WrongAdapters = {
  ...WRONG_ANSWERS,
  ...WRONG_CREDENTIALS,
  ...WRONG_ENTITIES,
  ...WRONG_FAILURES,
  ...WRONG_REQUESTS,
  ...WRONG_SET_UPS,
};

describe('adapterContract', () => {
  test('passes a correct adapter', async () => {
    expect(await failures(serveWith(() => ({})))).toEqual([]);
  });

  test.each(Object.entries(ALL))('fails an adapter that %s', async (_name, wrong) => {
    expect(await failures(serveWith(wrong.change))).toEqual([...wrong.noticedBy].sort());
  });

  test('has only tests that some wrong adapter fails', () => {
    const noticed = new Set(Object.values(ALL).flatMap(({ noticedBy }) => noticedBy));
    const titles: string[] = [];
    adapterContract(
      (title) => titles.push(title),
      serveWith(() => ({})),
    );
    expect(titles.filter((title) => !noticed.has(title))).toEqual([]);
  });
});
