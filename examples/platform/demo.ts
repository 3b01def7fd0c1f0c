// Only until every test starts ./host/demo.ts itself.
import './host/demo.ts';
