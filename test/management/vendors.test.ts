import { createKeyring, isKey, keyPattern } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { complaint } from '../support/complaint.ts';
import { catalog, untyped } from '../support/keyring.ts';

const OPTIONS = { catalog, store: memoryStore(), peppers: 'none' } as const;

describe('a prefix of another vendor', () => {
  const FOREIGN = ['sk_live', 'sk_test', 'rk_live', 'ghp', 'glpat', 'xoxb', 'shpat', 'lin_api'];

  it.each([...FOREIGN, 'github_pat', 'whsec', 'npm', 'hf', 'dop_v1', 'sbp'])(
    'is refused by createKeyring: %s',
    (prefix) => {
      const said = complaint(() => createKeyring({ ...OPTIONS, prefix }));
      expect(said).toMatch(new RegExp(`^prefix: ${prefix} is another vendor's; choose another`));
      expect(() =>
        createKeyring({ ...OPTIONS, prefix, insecureAcceptForeignPrefix: true }),
      ).not.toThrow();
      // Functions on texts accept any prefix.
      expect(keyPattern(prefix)).toContain(prefix);
      expect(isKey('x', { prefix })).toBe(false);
    },
  );

  it.each(['acme', 'acme_live', 'live', 'sk_lives', 'ghpx', 'a'])('is not %s', (prefix) => {
    expect(() => createKeyring({ ...OPTIONS, prefix })).not.toThrow();
  });

  it('is accepted only with true', () => {
    for (const flag of ['true', 1, {}, null]) {
      const insecureAcceptForeignPrefix = untyped<boolean>(flag);
      const act = () => createKeyring({ ...OPTIONS, prefix: 'ghp', insecureAcceptForeignPrefix });
      expect(complaint(act)).not.toBe('');
      expect(act).toThrow(TypeError);
    }
  });
});
