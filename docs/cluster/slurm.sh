#!/bin/bash
# A campaign on SLURM: sbatch slurm.sh night.yaml
# The first task is the scheduler, one more is the driver, all others are workers.  Killed or out of time: submit it again, it goes on.
#SBATCH --job-name=evenhand
#SBATCH --ntasks=34
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=4G
#SBATCH --time=10:00:00
#SBATCH --requeue
set -euo pipefail
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
scheduler=${SLURMD_NODENAME:-$(hostname)}
port=$((20000 + SLURM_JOB_ID % 20000)) # of this job alone: another one's scheduler may run on the same node
srun --nodes=1 --ntasks=1 --nodelist="$scheduler" --exact dask scheduler --port "$port" --no-dashboard &
srun --ntasks=$((SLURM_NTASKS - 2)) --exact dask worker "tcp://$scheduler:$port" --nthreads 1 --no-dashboard --death-timeout 120 &
evenhand campaign "$1" --cluster "tcp://$scheduler:$port" --report "${1%.yaml}.html"
