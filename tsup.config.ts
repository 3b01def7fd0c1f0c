import { defineConfig } from 'tsup';

// One output file per source file, so that the package can be compared with the repository line by
// line.
export default defineConfig({
  entry: ['src/**/*.ts'],
  format: 'esm',
  target: 'es2023',
  platform: 'neutral',
  bundle: false,
  sourcemap: true,
  clean: true,
  silent: true,
  // TypeScript itself writes the declarations: one per file too, with maps that lead to the shipped
  // source.
  onSuccess: 'tsc -p tsconfig.build.json',
});
