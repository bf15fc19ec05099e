#!/bin/sh
# A job array of Slurm: eight processes, each with an eighth of the seeds.
#   job=$(sbatch --parsable slurm.sh)
#   sbatch --dependency=afterany:$job --output=merge.log --wrap='npx modelhost-sim merge results'
#SBATCH --job-name=seeds
#SBATCH --array=1-8
#SBATCH --output=shard-%a.log
#SBATCH --requeue
npx modelhost-sim run scenarios --seeds 1..200 --shard auto --out results
