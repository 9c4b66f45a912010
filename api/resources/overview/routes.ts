import { getRunHistory } from './history.ts';
import { getOverview } from './overview.ts';
import { searchTenant } from './search.ts';

export const overviewRoutes = [getOverview, getRunHistory, searchTenant];
