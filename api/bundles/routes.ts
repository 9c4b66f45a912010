import { exportBundle, exportRoutes } from './export.ts';
import { applyImport, executeImport, planBundle, previewImport } from './import.ts';
import { createImportJob, getImportJob, listImportJobs } from './jobs/routes.ts';
import { listImports, rollBackImport } from './rollback.ts';

export const bundleRoutes = [
  ...exportRoutes,
  exportBundle,
  previewImport,
  executeImport,
  planBundle,
  applyImport,
  createImportJob,
  listImportJobs,
  getImportJob,
  listImports,
  rollBackImport,
];
