import { exportBundle, exportRoutes } from './export.ts';
import { applyImport, executeImport, planBundle, previewImport } from './import.ts';
import { listImports, rollBackImport } from './rollback.ts';

export const bundleRoutes = [
  ...exportRoutes,
  exportBundle,
  previewImport,
  executeImport,
  planBundle,
  applyImport,
  listImports,
  rollBackImport,
];
