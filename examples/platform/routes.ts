// Only until every test imports ./service/routes.ts itself.
export * from './service/routes.ts';
