import { exportBundle, exportRoutes } from './export.ts';

export const bundleRoutes = [...exportRoutes, exportBundle];
