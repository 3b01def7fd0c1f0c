import { defineConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

// The units alone, without those that look at the source or at sizes: these notice every change.
const { projects: _, ...test } = base.test ?? {};
const include = ['test/*.test.ts', 'test/stores/*.test.ts'];
const exclude = ['architecture', 'supply-chain', 'size', 'bench'].map((name) => `test/${name}.test.ts`);

export default defineConfig({ ...base, test: { ...test, include, exclude, isolate: true } });
