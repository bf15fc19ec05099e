#!/bin/sh
# Uploads a file of requests, runs it as a batch, lets two hours pass, and prints the answers.
# In another terminal before: npx modelhost-sim serve --clock manual
set -eu

cd "$(dirname "$0")"
api="http://127.0.0.1:${PORT:-4010}"
auth="Authorization: Bearer ${TOKEN:-sim_default_token}"

# The first text under a key; the answers are flat enough to do without jq.
value() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

file=$(curl -sSf -H "$auth" -F purpose=batch -F file=@requests.jsonl "$api/v1/files" | sed 's/,.*//' | value id)
[ -n "$file" ] || exit 1
echo "uploaded $file" >&2

batch=$(curl -sSf -H "$auth" -H 'Content-Type: application/json' "$api/v1/batches" -d "{
  \"input_file_id\": \"$file\", \"endpoint\": \"/v1/chat/completions\", \"completion_window\": \"24h\"
}" | sed 's/,.*//' | value id)
[ -n "$batch" ] || exit 1
echo "created $batch" >&2

curl -sSf -H 'Content-Type: application/json' "$api/_sim/clock/advance" -d '{"by":"2h"}' >/dev/null

done=$(curl -sSf -H "$auth" "$api/v1/batches/$batch")
status=$(echo "$done" | value status)
echo "it is $status" >&2
[ "$status" = completed ] || exit 1

# Every request has a row in the output. A download with fewer rows is broken.
output=$(curl -sSf -H "$auth" "$api/v1/files/$(echo "$done" | value output_file_id)/content")
[ "$(echo "$output" | grep -c custom_id)" = "$(grep -c custom_id requests.jsonl)" ] || exit 1
echo "$output"
