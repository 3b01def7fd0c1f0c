import { afterEach, describe, expect, it, vi } from 'vitest';

/** Loads a fresh copy of the module. */
function load(): Promise<typeof import('../../src/native/sha2.js')> {
  vi.resetModules();
  return import('../../src/native/sha2.js');
}

describe('the replacement of @noble/hashes on Node', () => {
  afterEach(() => void vi.unstubAllGlobals());

  it('loads if there is a native hash, and contains no hash itself', async () => {
    const { sha256, bytesToHex } = await load();
    expect(sha256).toThrow('the native hash must be called instead');
    expect(bytesToHex).toThrow('the native hash must be called instead');
  });

  it.each([
    ['no process', undefined],
    ['no built-in modules', {}],
    ['a crypto without hash()', { getBuiltinModule: () => ({}) }],
    ['no crypto', { getBuiltinModule: () => undefined }],
  ])('refuses to load with %s, and says what to do', async (_, process) => {
    vi.stubGlobal('process', process);
    await expect(load()).rejects.toThrow(/node:crypto has no hash\(\) here\. .+ condition "node"/);
  });
});
