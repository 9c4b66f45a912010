import { getOverview } from './overview.ts';
import { searchTenant } from './search.ts';

export const overviewRoutes = [getOverview, searchTenant];
