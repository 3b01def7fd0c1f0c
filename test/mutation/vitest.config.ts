import { defineConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

// The core's own tests alone: they are to notice what changes in the core, and they are quick.
// Stryker runs one project, in which each file of tests stands alone.
const { projects: _, ...test } = base.test ?? {};
const include = ['test/{core,management,http,notation}/**/*.test.ts'];

export default defineConfig({ ...base, test: { ...test, include, isolate: true } });
