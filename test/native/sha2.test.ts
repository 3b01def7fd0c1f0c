import { afterEach, describe, expect, it, vi } from 'vitest';

/** As if it were loaded for the first time. */
function load(): Promise<typeof import('../../src/native/sha2.js')> {
  vi.resetModules();
  return import('../../src/native/sha2.js');
}

describe('what stands for @noble/hashes on Node', () => {
  afterEach(() => void vi.unstubAllGlobals());

  it('loads where there is a native hash, and has no hash of its own', async () => {
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
    await expect(load()).rejects.toThrow(/no hash\(\) in node:crypto here: .+ condition "node"/);
  });
});
