import { defineConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

// The units alone, without those that look at the source or at sizes: these notice every change.
// Stryker runs one project, in which each file of tests stands alone.
const { projects: _, ...test } = base.test ?? {};
const include = ['test/{core,cache,jwt,mcp,schemas,stores,testing}/**/*.test.ts'];

export default defineConfig({ ...base, test: { ...test, include, isolate: true } });
