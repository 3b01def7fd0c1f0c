// Only until every test imports ./service/problem.ts itself.
export * from './service/problem.ts';
