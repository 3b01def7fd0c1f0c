// Only until every test imports ./service/catalog.ts itself.
export * from './service/catalog.ts';
