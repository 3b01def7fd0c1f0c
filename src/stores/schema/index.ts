/** `keyscope/stores/schema`. */
export type { Dialect, SchemaOptions } from './migrations.js';
export { MIGRATIONS, schemaSql } from './migrations.js';
