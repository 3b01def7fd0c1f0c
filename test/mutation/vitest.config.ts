import { defineConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

// The tests of what is changed, and of the two doors through which `src/http` reads and answers.
// Stryker runs one project.
const { projects: _, ...test } = base.test ?? {};
const include = ['test/{core,management,http,notation,admin,leaks}/**/*.test.ts'];

export default defineConfig({ ...base, test: { ...test, include } });
