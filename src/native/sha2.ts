/**
 * What Node, Bun and Deno load in place of `@noble/hashes`, whose five files take as long as the
 * core. There is a native hash in every version of Node, Bun and Deno that is supported.
 */
const { process } = globalThis as {
  readonly process?: {
    getBuiltinModule?(name: 'node:crypto'): { readonly hash?: unknown } | undefined;
  };
};

if (typeof process?.getBuiltinModule?.('node:crypto')?.hash !== 'function') {
  throw new Error(
    'keyscope was resolved for Node, and there is no hash() in node:crypto here: run Node 20.19 ' +
      'or later, or have the bundler resolve packages without the condition "node"',
  );
}

/** Not called, because the native hash is. */
export function sha256(): never {
  throw new Error('there is a native hash');
}

export const bytesToHex: () => never = sha256;
