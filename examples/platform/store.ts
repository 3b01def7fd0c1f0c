// Only until every test imports ./host/open-store.ts itself.
export * from './host/open-store.ts';
