/** `keyscope/stores/schema`. */
export type { Dialect } from './migrations.js';
export { MIGRATIONS, schemaSql } from './migrations.js';
export type { SchemaOptions } from './versions.js';
