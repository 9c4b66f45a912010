import { Migration } from '@mikro-orm/migrations';

/** Old code can run beside it: it accepts runs of paused workflows like others, and lets them begin if it leads. */
export class Migration20261122195500_Pauses extends Migration {
  override up(): void {
    this.addSql('alter table workflow add column paused_at timestamptz');
    this.addSql('alter table tenant add column paused_at timestamptz');
    this.addSql('create index workflow_paused on workflow (id) where paused_at is not null');
    this.addSql('create index tenant_paused on tenant (id) where paused_at is not null');

    // When a run became READY that a pause keeps out of the queue. It is not READY meanwhile, so no statement of the dispatch reads it.
    this.addSql('alter table workflow_instance add column kept_since timestamptz');
    // Workflows with such runs, and the runs of one in their order. As a `case`, the condition fits no other index. Without the tenant:
    // beside empty tables the planner takes any index by tenant.
    this.addSql(`
create index workflow_instance_kept on workflow_instance (coalesce(workflow_id, tenant_id), kept_since, id)
where case when kept_since is not null and completed_at is null then true else false end`);
  }
}
