// Only until every test imports ./host/boot.ts itself.
export * from './host/boot.ts';
