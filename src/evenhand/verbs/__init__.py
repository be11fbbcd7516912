"""What a user does, one file each: one verb, one public function, one command."""
