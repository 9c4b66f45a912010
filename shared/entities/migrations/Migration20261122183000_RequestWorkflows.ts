import { Migration } from '@mikro-orm/migrations';

/** Code that does not know the column can run beside it: a trigger fills it. */
export class Migration20261122183000_RequestWorkflows extends Migration {
  override up(): void {
    this.addSql('alter table collection_request add column workflow_id uuid');
    // The rule on a request is that on its workflow, and a list of requests cannot look at every run for it.
    this.addSql(`
create function collection_request_workflow() returns trigger language plpgsql as $$
begin
  select workflow_id into new.workflow_id from workflow_instance where id = new.instance_id;
  return new;
end $$`);
    this.addSql(`
create trigger workflow before insert on collection_request for each row
when (new.workflow_id is null) execute function collection_request_workflow()`);
    // Of open requests only: a list of answered ones leaves out those from before.
    this.addSql(`
update collection_request r set workflow_id = i.workflow_id
from workflow_instance i where i.id = r.instance_id and r.status = 'PENDING'`);
  }
}
