// Only until every test imports ./service/policy.ts itself.
export * from './service/policy.ts';
