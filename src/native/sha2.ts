/**
 * Replaces `@noble/hashes` on Node, Bun and Deno, because its five files take as long to load as
 * the core. Every supported version of Node, Bun and Deno has a native hash.
 */
const { process } = globalThis as {
  readonly process?: {
    getBuiltinModule?(name: 'node:crypto'): { readonly hash?: unknown } | undefined;
  };
};

if (typeof process?.getBuiltinModule?.('node:crypto')?.hash !== 'function') {
  throw new Error(
    'keyscope was resolved for Node, but node:crypto has no hash() here. Run Node 20.19 or ' +
      'later, or make the bundler resolve packages without the condition "node"',
  );
}

/** Never called: keyscope calls the native hash. */
export function sha256(): never {
  throw new Error('the native hash must be called instead');
}

export const bytesToHex: () => never = sha256;
