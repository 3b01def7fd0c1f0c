// Only until every test imports ./host/http.ts itself.
export * from './host/http.ts';
export * from './host/node-server.ts';
