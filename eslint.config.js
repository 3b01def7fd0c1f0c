// Only rules that need types, which Biome cannot check: promises that nobody awaits, and `any` that
// slips in. biome.jsonc has all other style rules.
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  { ignores: ['**/.project/**'] },
  {
    files: ['src/**/*.ts', 'test/**/*.ts', 'examples/**/*.ts', 'bench/**/*.ts'],
    ignores: [
      'test/readme/blocks/**',
      'test/workerd/**',
      // Packages that only some tests install.
      'test/{frameworks,orms}/**',
      'examples/existing/**',
      'examples/more/{bun,deno,drizzle,elysia,koa,kysely,mikro-orm,nest,next,trpc,typeorm}/**',
    ],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    plugins: { '@typescript-eslint': tseslint.plugin },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-unsafe-argument': 'error',
      '@typescript-eslint/no-unsafe-assignment': 'error',
      '@typescript-eslint/no-unsafe-call': 'error',
      '@typescript-eslint/no-unsafe-member-access': 'error',
      '@typescript-eslint/no-unsafe-return': 'error',
    },
  },
);
