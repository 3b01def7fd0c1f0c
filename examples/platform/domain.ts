// Only until every test imports ./service/domain.ts itself.
export * from './service/domain.ts';
